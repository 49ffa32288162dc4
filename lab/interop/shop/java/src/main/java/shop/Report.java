package shop;

import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** A job that every instance starts, and that one instance runs. */
@Component
class Report {
    private final StringRedisTemplate redis;

    Report(StringRedisTemplate redis) {
        this.redis = redis;
    }

    @Scheduled(fixedRate = 100)
    @SchedulerLock(name = "report", lockAtMostFor = "10s", lockAtLeastFor = "1s")
    void run() {
        redis.opsForList().rightPush("reports", "java");
    }
}
