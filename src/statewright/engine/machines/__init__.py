"""State machines and activities as the catalogue has them."""
