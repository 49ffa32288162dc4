package shop;

import com.baomidou.lock.annotation.Lock4j;
import org.springframework.stereotype.Service;

/** The shop under the locks of lock4j. */
@Service("lock4j")
class Lock4jShop implements Shop {
    private final Books books;

    Lock4jShop(Books books) {
        this.books = books;
    }

    @Lock4j(name = "stock", keys = {"#sku", "#warehouse"}, acquireTimeout = 60000)
    @Override
    public void sell(String sku, int warehouse) throws InterruptedException {
        books.sell(sku, warehouse);
    }

    @Lock4j(name = "stock", keys = {"#sku", "#warehouse"}, acquireTimeout = 60000)
    @Override
    public void restock(String sku, int warehouse) throws InterruptedException {
        books.restock(sku, warehouse);
    }

    @Lock4j(name = "ledger", acquireTimeout = 60000)
    @Override
    public void book(String order) throws InterruptedException {
        books.book(order);
    }
}
