package shop;

import aspect.DistributedLock;
import org.springframework.stereotype.Service;

/** The shop under the locks of the aspect. */
@Service("aspect")
class AspectShop implements Shop {
    private final Books books;

    AspectShop(Books books) {
        this.books = books;
    }

    // Selling and restocking change the same number, so they have one lock for each article in each warehouse.
    @DistributedLock(prefix = "shop-", value = "stock", paramLock = true,
            keyTimeout = 3000, retryCount = 0, retryInterval = 20)
    @Override
    public void sell(String sku, int warehouse) throws InterruptedException {
        books.sell(sku, warehouse);
    }

    @DistributedLock(prefix = "shop-", value = "stock", paramLock = true,
            keyTimeout = 3000, retryCount = 0, retryInterval = 20)
    @Override
    public void restock(String sku, int warehouse) throws InterruptedException {
        books.restock(sku, warehouse);
    }

    @DistributedLock(prefix = "shop-", value = "ledger", keyTimeout = 3000, retryCount = 0, retryInterval = 20)
    @Override
    public void book(String order) throws InterruptedException {
        books.book(order);
    }
}
