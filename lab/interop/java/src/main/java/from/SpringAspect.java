package from;

import aspect.DistributedLock;

/** Code of docs/from-distributedlock.md. */
class SpringAspect {
    interface Stock {
        String reserve(String sku);
    }

    private final Stock stock;
    private int i;

    SpringAspect(Stock stock) {
        this.stock = stock;
    }

    @DistributedLock(prefix = "my-", value = "test", keyTimeout = 3000, retryCount = 0, paramLock = true, retryInterval = 200)
    public void test(String name, int number, Object o) {
        i++;
    }

    @DistributedLock(prefix = "shop:", value = "reserve", paramLock = true)
    public String reserve(String sku) {
        return stock.reserve(sku);
    }
}
