"""The commands of the command line that come with this distribution."""
