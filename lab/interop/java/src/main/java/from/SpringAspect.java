package from;

import aspect.DistributedLock;

/** Code of docs/migrating.md. */
class SpringAspect {
    interface Stock {
        String reserve(String sku);
    }

    private final Stock stock;

    SpringAspect(Stock stock) {
        this.stock = stock;
    }

    @DistributedLock(prefix = "shop:", value = "reserve", paramLock = true,
            keyTimeout = 10000, retryCount = 10, retryInterval = 200)
    public String reserve(String sku) {
        return stock.reserve(sku);
    }
}
