"""The laws, for everybody who writes a format, a source or a tracker."""
