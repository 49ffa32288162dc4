package from;

import com.baomidou.lock.annotation.Lock4j;

/** Code of docs/migrating.md. */
class Lock4jOrders {
    record Order(long id) {}

    interface Bank {
        String charge(Order order);
    }

    private final Bank bank;

    Lock4jOrders(Bank bank) {
        this.bank = bank;
    }

    @Lock4j(name = "pay", keys = {"#order.id"}, acquireTimeout = 3000)
    public String pay(Order order) {
        return bank.charge(order);
    }
}
