package from;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** Code of docs/migrating.md. */
class CuratorStock {
    interface Stock {
        void reserve(String sku);
    }

    private final CuratorFramework curator;
    private final Stock stock;

    CuratorStock(CuratorFramework curator, Stock stock) {
        this.curator = curator;
        this.stock = stock;
    }

    void reserve(String sku) throws Exception {
        InterProcessMutex lock = new InterProcessMutex(curator, "/shop/stock/" + sku);
        if (!lock.acquire(3, TimeUnit.SECONDS)) {
            throw new IllegalStateException("busy");
        }
        try {
            stock.reserve(sku);
        } finally {
            lock.release();
        }
    }
}
