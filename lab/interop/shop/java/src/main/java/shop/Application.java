package shop;

import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.scheduling.annotation.EnableScheduling;

@SpringBootApplication(scanBasePackages = {"shop", "aspect"})
@EnableScheduling
@EnableSchedulerLock(defaultLockAtMostFor = "10s")
public class Application {
    public static void main(String[] args) {
        var context = SpringApplication.run(Application.class, args);
        System.out.println("ready");
        System.out.println("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port"));
    }

    @Bean
    RedissonClient redissonClient(@Value("${spring.data.redis.url}") String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        return Redisson.create(config);
    }

    /** The key of a job is {@code job-lock:prod:} and its name. */
    @Bean
    LockProvider lockProvider(RedisConnectionFactory redis) {
        return new RedisLockProvider.Builder(redis).environment("prod").safeUpdate(true).build();
    }
}
