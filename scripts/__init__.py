"""Programs that write what is made from the code."""
