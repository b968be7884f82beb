"""Views: functions that make a page from a record.

`facts` says what is told of a record, `comparison` what is told of two, in sentences of `regard.page.messages`. The
other files show it, each in one way.
"""
