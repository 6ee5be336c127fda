"""Reading that is divided while it runs: readers claim chunks from a log that a coordinator keeps."""
