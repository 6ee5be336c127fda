"""XML: elements of one name are records, wherever they are."""
