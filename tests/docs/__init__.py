"""The blocks of the documents, run as their readers would run them."""
