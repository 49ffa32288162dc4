package from;

import org.springframework.boot.autoconfigure.klock.annotation.Klock;
import org.springframework.boot.autoconfigure.klock.model.LockTimeoutStrategy;

/** Code of docs/migrating.md. */
class KlockOrders {
    record Order(long id) {}

    interface Bank {
        String charge(Order order);
    }

    private final Bank bank;

    KlockOrders(Bank bank) {
        this.bank = bank;
    }

    @Klock(name = "pay", keys = {"#order.id"}, waitTime = 3, leaseTime = -1,
            lockTimeoutStrategy = LockTimeoutStrategy.FAIL_FAST)
    public String pay(Order order) {
        return bank.charge(order);
    }
}
