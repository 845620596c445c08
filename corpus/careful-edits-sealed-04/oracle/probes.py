"""What the child process does with the work."""


def calls(*rows):
    """Make calls, each a time, a key and an item, of one service; returns the answers."""
    from quotes.service import Service

    now = [0.0]
    service = Service(lambda: now[0])
    answers = []
    for at, key, item in rows:
        now[0] = at
        answers.append(list(service.handle({"item": item} if key is None else {"key": key, "item": item})))
    return answers


def statuses(*rows):
    """Return the statuses of calls for tea, each a time and a key."""
    return [answer[0] for answer in calls(*[[at, key, "tea"] for at, key in rows])]
