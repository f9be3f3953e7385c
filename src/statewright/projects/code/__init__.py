"""Code of functions and layers that is not where the template points: builds, and layers of other accounts."""
