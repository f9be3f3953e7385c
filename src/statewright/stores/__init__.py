"""Where state is kept: one protocol per aggregate, and the stores that fulfil them."""
