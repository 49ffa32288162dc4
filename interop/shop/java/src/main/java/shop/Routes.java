package shop;

import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class Routes {
    private final Shop shop;
    private final Books books;

    Routes(Shop shop, Books books) {
        this.shop = shop;
        this.books = books;
    }

    @PostMapping("/sell")
    void sell(@RequestParam String sku, @RequestParam int warehouse) throws InterruptedException {
        shop.sell(sku, warehouse);
    }

    @PostMapping("/restock")
    void restock(@RequestParam String sku, @RequestParam int warehouse) throws InterruptedException {
        shop.restock(sku, warehouse);
    }

    @PostMapping("/book")
    void book(@RequestParam String order) throws InterruptedException {
        shop.book(order);
    }

    /** To show what the lock is for. */
    @PostMapping("/unlocked/sell")
    void sellUnlocked(@RequestParam String sku, @RequestParam int warehouse) throws InterruptedException {
        books.sell(sku, warehouse);
    }
}
