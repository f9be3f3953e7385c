"""Code packages: the folder of a server, and the packages in the store."""
