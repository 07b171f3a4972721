"""Name resolution: the files, releases and declarations of a spec, and what is known of them during compilation."""
