CREATE TABLE IF NOT EXISTS items (
  sku   TEXT PRIMARY KEY,
  stock INTEGER NOT NULL,
  fence BIGINT  NOT NULL -- the largest fencing token so far
);

-- AUTOINCREMENT: the id of a deleted order is not used again. PostgreSQL has another
-- name for it.
CREATE TABLE IF NOT EXISTS orders (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  sku      TEXT    NOT NULL,
  buyer    TEXT    NOT NULL,
  quantity INTEGER NOT NULL,
  token    BIGINT  NOT NULL
);

CREATE INDEX IF NOT EXISTS orders_of_sku ON orders (sku);
