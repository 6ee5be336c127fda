"""Records of COBOL programs, described by a copybook."""
