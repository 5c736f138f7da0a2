"""Pages for people: drawings, egg-boxes and HTML files that work without a network."""
