package shop;

import aspect.DistributedLock;
import org.springframework.stereotype.Service;

/** The service that moves to Go, one method after the other. */
@Service
class Shop {
    private final Books books;

    Shop(Books books) {
        this.books = books;
    }

    // Selling and restocking change the same number, so they have one lock for each article in each warehouse.
    @DistributedLock(prefix = "shop-", value = "stock", paramLock = true,
            keyTimeout = 3000, retryCount = 0, retryInterval = 20)
    void sell(String sku, int warehouse) throws InterruptedException {
        books.sell(sku, warehouse);
    }

    @DistributedLock(prefix = "shop-", value = "stock", paramLock = true,
            keyTimeout = 3000, retryCount = 0, retryInterval = 20)
    void restock(String sku, int warehouse) throws InterruptedException {
        books.restock(sku, warehouse);
    }

    @DistributedLock(prefix = "shop-", value = "ledger", keyTimeout = 3000, retryCount = 0, retryInterval = 20)
    void book(String order) throws InterruptedException {
        books.book(order);
    }
}
