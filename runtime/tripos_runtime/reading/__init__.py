"""Reading of what models return: tolerant of form, strict about content.

Reading never makes a value up. For an unreadable reply the result is an error with a reason; no exception leaves the
package."""
