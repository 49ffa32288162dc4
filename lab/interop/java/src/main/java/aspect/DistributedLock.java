package aspect;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The method runs under a lock in Redis: see {@link DistributedLockAspect}. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface DistributedLock {
    /** The key is {@code prefix + value}, then the arguments, then {@code "-locks"}. */
    String value() default "";

    String prefix() default "";

    /** The hash code of each argument is part of the key. */
    boolean paramLock() default false;

    /** The lease in milliseconds. */
    long keyTimeout() default 1000;

    /** The number of attempts; 0 is no limit. */
    int retryCount() default 3;

    /** The pause between two attempts, in milliseconds: this long, up to twice as long. */
    long retryInterval() default 500;
}
