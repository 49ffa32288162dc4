package from;

import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.scheduling.annotation.Scheduled;

/** Code of docs/migrating.md. */
class ShedLockReports {
    interface Reports {
        void write();
    }

    private final Reports reports;

    ShedLockReports(Reports reports) {
        this.reports = reports;
    }

    @Scheduled(cron = "0 0 3 * * *")
    @SchedulerLock(name = "report", lockAtMostFor = "1h", lockAtLeastFor = "10m")
    public void report() {
        LockAssert.assertLocked();
        reports.write();
    }
}
