"""Tasks of other formats, made into tasks of the corpus and back; what is read there is never believed."""
