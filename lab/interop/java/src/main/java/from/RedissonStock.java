package from;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Code of docs/migrating.md. */
class RedissonStock {
    interface Stock {
        void reserve(String sku);
    }

    private final RedissonClient redisson;
    private final Stock stock;

    RedissonStock(RedissonClient redisson, Stock stock) {
        this.redisson = redisson;
        this.stock = stock;
    }

    void reserve(String sku) throws InterruptedException {
        RLock lock = redisson.getLock("stock:" + sku);
        if (!lock.tryLock(3, TimeUnit.SECONDS)) {
            throw new IllegalStateException("busy");
        }
        try {
            stock.reserve(sku);
        } finally {
            lock.unlock();
        }
    }
}
