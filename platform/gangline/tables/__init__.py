"""Tables declared once: columns, filters, sorting, paging, live cells."""
