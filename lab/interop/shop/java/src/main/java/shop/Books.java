package shop;

import java.util.concurrent.TimeUnit;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;

/**
 * Stock and ledger in Redis. Every method reads, thinks and writes, without an atomic operation of Redis:
 * two at once lose one of the updates.
 */
@Service("unlocked")
class Books implements Shop {
    private final StringRedisTemplate redis;

    Books(StringRedisTemplate redis) {
        this.redis = redis;
    }

    @Override
    public void sell(String sku, int warehouse) throws InterruptedException {
        long left = stock(sku, warehouse);
        if (left == 0) {
            throw new IllegalStateException("sold out");
        }
        think();
        setStock(sku, warehouse, left - 1);
    }

    @Override
    public void restock(String sku, int warehouse) throws InterruptedException {
        long left = stock(sku, warehouse);
        think();
        setStock(sku, warehouse, left + 1000);
    }

    @Override
    public void book(String order) throws InterruptedException {
        String ledger = redis.opsForValue().get("ledger");
        if (ledger == null) {
            ledger = " ";
        }
        if (ledger.contains(" " + order + " ")) {
            return;
        }
        think();
        redis.opsForValue().set("ledger", ledger + order + " ");
    }

    private long stock(String sku, int warehouse) {
        String left = redis.opsForValue().get("stock:" + sku + ":" + warehouse);
        return left == null ? 0 : Long.parseLong(left);
    }

    private void setStock(String sku, int warehouse, long left) {
        redis.opsForValue().set("stock:" + sku + ":" + warehouse, Long.toString(left));
    }

    private static void think() throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(2);
    }
}
