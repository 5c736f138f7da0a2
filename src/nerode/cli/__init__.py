"""The command line: thin, one file per command. Open `main` first: its table says where each command is."""
