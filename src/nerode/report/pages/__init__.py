"""Pages: one HTML file each, with everything inside it."""
