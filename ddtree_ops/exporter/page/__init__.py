"""The status page: server-rendered HTML that also works without JavaScript, kept fresh by server-sent events."""
