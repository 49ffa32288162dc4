package shop;

/** The methods that move to Go. There is one implementation for each kind of lock. */
interface Shop {
    /** Sells one piece. */
    void sell(String sku, int warehouse) throws InterruptedException;

    /** Puts a thousand pieces more into the warehouse. */
    void restock(String sku, int warehouse) throws InterruptedException;

    /** Enters an order into the ledger, unless it is there. */
    void book(String order) throws InterruptedException;
}
