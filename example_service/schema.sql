CREATE TABLE IF NOT EXISTS items (
  sku   TEXT PRIMARY KEY,
  stock INTEGER NOT NULL,
  fence INTEGER NOT NULL -- the largest fencing token that was seen
);

-- AUTOINCREMENT: the id of an order that was forgotten is not given again.
CREATE TABLE IF NOT EXISTS orders (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  sku      TEXT    NOT NULL,
  buyer    TEXT    NOT NULL,
  quantity INTEGER NOT NULL,
  token    INTEGER NOT NULL
);

CREATE INDEX IF NOT EXISTS orders_of_sku ON orders (sku);
