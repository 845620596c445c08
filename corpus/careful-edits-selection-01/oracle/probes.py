"""What the child process does with the work."""

import pathlib
import tempfile


def load(text):
    """Import a list into a store that holds an item already; returns the report and the store."""
    from stockin.importer import import_stock

    path = pathlib.Path(tempfile.mkdtemp()) / "stock.csv"
    path.write_text(text, encoding="utf-8")
    store = {"OLD": "kept"}
    report = import_stock(path, store)
    items = {sku: item if item == "kept" else [item.name, item.qty, item.price_cents] for sku, item in store.items()}
    return [report.taken, list(report.skipped), items]
