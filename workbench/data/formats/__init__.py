"""Reading the file formats of other tools."""
