"""One panel per notebook."""
