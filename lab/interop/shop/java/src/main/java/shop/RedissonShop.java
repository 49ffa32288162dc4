package shop;

import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.springframework.stereotype.Service;

/** The shop under locks of Redisson. */
@Service("redisson")
class RedissonShop implements Shop {
    private final Books books;
    private final RedissonClient redisson;

    RedissonShop(Books books, RedissonClient redisson) {
        this.books = books;
        this.redisson = redisson;
    }

    @Override
    public void sell(String sku, int warehouse) throws InterruptedException {
        RLock lock = redisson.getLock("lock:" + sku + ":" + warehouse);
        lock.lock();
        try {
            books.sell(sku, warehouse);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void restock(String sku, int warehouse) throws InterruptedException {
        RLock lock = redisson.getLock("lock:" + sku + ":" + warehouse);
        lock.lock();
        try {
            books.restock(sku, warehouse);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void book(String order) throws InterruptedException {
        RLock lock = redisson.getLock("lock:ledger");
        lock.lock();
        try {
            books.book(order);
        } finally {
            lock.unlock();
        }
    }
}
