"""Grading by people: assignment of replies, sheets and the page, and the import of grades as scores."""
