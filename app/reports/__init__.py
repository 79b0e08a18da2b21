"""Reports: work that is asked for in a fixed form, read into its sections and held against its template."""
