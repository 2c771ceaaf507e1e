"""Research programs of this project: what its defaults and decisions rest on."""
