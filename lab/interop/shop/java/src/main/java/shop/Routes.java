package shop;

import java.util.Map;

import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class Routes {
    private final Map<String, Shop> shops;

    /** @param shops the shops, by the kind of their locks */
    Routes(Map<String, Shop> shops) {
        this.shops = shops;
    }

    @PostMapping("/{lock}/sell")
    void sell(@PathVariable String lock, @RequestParam String sku, @RequestParam int warehouse) throws InterruptedException {
        shops.get(lock).sell(sku, warehouse);
    }

    @PostMapping("/{lock}/restock")
    void restock(@PathVariable String lock, @RequestParam String sku, @RequestParam int warehouse) throws InterruptedException {
        shops.get(lock).restock(sku, warehouse);
    }

    @PostMapping("/{lock}/book")
    void book(@PathVariable String lock, @RequestParam String order) throws InterruptedException {
        shops.get(lock).book(order);
    }
}
