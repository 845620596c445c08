"""What the child process does with the work."""


def _lines(rows):
    from shop.orders import Line

    return [Line(*row) for row in rows]


def invoice(number, rows):
    """Print an invoice."""
    from shop.invoice import print_invoice

    return print_invoice(number, _lines(rows))


def export(rows):
    """Export lines."""
    from shop.export import export

    return export(_lines(rows))


def payment(number, rows):
    """Make the form of a payment."""
    from shop.payment import payment_form

    return payment_form(number, _lines(rows))
