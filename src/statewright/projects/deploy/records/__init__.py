"""Resources of the small services: roles, users, groups and policies; image repositories."""
