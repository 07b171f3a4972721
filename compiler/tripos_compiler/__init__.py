"""The compiler: spec files in, a plan out. It calls no model and reads only what it is handed."""
