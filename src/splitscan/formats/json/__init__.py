"""JSON: lines, values one after the other, or one array, over any number of lines."""
