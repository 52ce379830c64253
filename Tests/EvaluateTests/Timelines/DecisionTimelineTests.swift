// What is decided, told as timelines: entry, easing, relapse, hold, silence, launch.
import Testing

@Suite("Deciding, as timelines")
struct DecisionTimelineTests {
    static let stories: [(String, String)] = [
        (
            "four sessions of which three crash decide nothing",
            """
            policy default
            0s         a start x4 s=s*
            0s         a crash x3 s=s* d=d* id=c*
            10m        => a Caution initial r1 60.sessions=4 60.crashed_sessions=3
            10m1s      => a Normal recovery rule=- r2 @601s
            """
        ),
        (
            "high volume at 0.1 % goes to Normal, once",
            """
            policy default
            1s         a start s=first
            2s         => a Caution initial r1 @2s
            2s..20m2s/1m a start x1000 s=s* & a crash s=s* d=d*  => a Normal recovery r2 @303s
            """
        ),
        (
            "fifty sessions a minute with ten crashing devices are not Normal",
            """
            policy default
            0s         a start x50 s=s*
            0s         a crash x10 s=s* d=d* id=c*
            1s         => a Halt rule rule=burst r1 @1s 60.rate=0.8000 60.crashed_devices=10
            """
        ),
        (
            "one looping device is not enough to halt",
            """
            policy default
            0s         a start x60 s=s*
            0s         a crash x30 s=s* d=same id=c*
            1s         => a Caution initial
            """
        ),
        (
            "the first of the strictest rules names the change, and step goes a level a tick",
            """
            policy article
            1m         a start x100 s=s*
            1m         a crash x4 s=s* id=c*
            2m         => a Caution rule rule=ten-minutes r1 @2m
            4m         => a Throttle rule rule=ten-minutes r2 @4m
            5m         a crash x20 s=s* id=e*
            6m         => a Halt rule rule=burst r3 @6m
            """
        ),
        (
            "the article eases at the next tick, in the end to Normal",
            """
            policy article
            1m         a start x1000 s=s*
            1m         a crash x20 id=c*
            2m         => a Caution rule rule=burst r1 @2m
            12m        => a Throttle rule rule=ten-minutes r2 @4m; a Caution recovery r3 @12m
            62m        => a Normal recovery r4 @62m
            """
        ),
        (
            "crashes without any start make the article's rate its empty rate",
            """
            policy article
            1m         a crash x19 id=c*
            2m         => a Normal initial r1 60.rate=1.0000 60.crashes=19
            """
        ),
        (
            "the article's rate may fall below 0",
            """
            policy article
            1m         a start s=s
            1m         a crash x3 id=c
            2m         => a Caution rule rule=hour r1 60.rate=-2.0000
            """
        ),
        (
            "without recovery asked for, Normal comes at the exact second, once",
            """
            policy probe
            with levels {"Caution":{"dwell_s":90}}
            with dwell_max_s 90
            0s         a crash id=c
            150s       => a Caution rule @1s
            151s       => a Normal recovery @151s
            3h         
            """
        ),
        (
            "an unhealthy tick in the dwell starts it anew",
            """
            policy probe
            with levels {"Caution":{"dwell_s":90}}
            with dwell_max_s 90
            0s         a crash id=c
            149s       => a Caution rule @1s
            149s       a crash id=d
            299s       
            300s       => a Normal recovery @300s
            """
        ),
        (
            "too small a sample never eases, enough of it does, a level at a time",
            """
            policy default
            0s         a start x50 s=s*
            0s         a crash x10 s=s* d=d* id=c*
            3h         => a Halt rule rule=burst
            3h..4h30m/10s a start x10 s=t* => a Throttle recovery rule=- r2 @11741s; \
            a Caution recovery r3 @12342s; a Normal recovery r4 @12643s
            """
        ),
        (
            "a relapse doubles the dwell, up to its most",
            """
            policy probe
            with levels {"Caution":{"dwell_s":60}}
            with relapse_s 600
            with dwell_max_s 200
            0s         a crash id=a
            121s       => a Caution rule @1s; a Normal recovery r2 @121s
            200s       a crash id=b
            381s       => a Caution rule r3 @201s; a Normal recovery r4 @381s
            400s       a crash id=c
            661s       => a Caution rule r5 @401s; a Normal recovery r6 @661s
            1260s      a crash id=d
            1521s      => a Caution rule r7 @1261s; a Normal recovery r8 @1521s
            2121s      a crash id=e
            2242s      => a Caution rule r9 @2122s; a Normal recovery r10 @2242s
            """
        ),
        (
            "no sessions where there were many is not health, where there were few it is",
            """
            policy probe
            with rules [{"name":"t","state":"Throttle","window_s":600,"crash_free_below":0.99}]
            with levels {"Throttle":{"dwell_s":900}}
            with dwell_max_s 900
            with silence {"share":0.2,"baseline":300}
            0s..30m/10s a start x5 s=s* & b start => a Normal initial r1; b Normal initial r1
            30m        a crash x10
            30m        b crash x10
            60m        => a Throttle rule @1801s; b Throttle rule @1801s; \
            b Caution recovery @3301s; b Normal recovery @3302s
            10h
            10h..11h/10s a start x5 s=t* => a Caution recovery @36961s; a Normal recovery @36962s
            """
        ),
        (
            "sessions without a sign of life are a launch failure",
            """
            policy default
            0s..60m/60s a start x20 s=s* & a alive x19 s=s* => a Caution initial r1 @1s; \
            a Normal recovery r2 @541s
            61m..74m/60s a start x20 s=t* & a alive x4 s=t* \
            => a Throttle launch_failure rule=- r3 @4021s 600.sessions=200 600.crashes=0
            """
        ),
        (
            "few sessions without a sign of life are none",
            """
            policy default
            0s..60m/60s a start x4 s=s* & a alive x4 s=s* => a Caution initial r1 @1s; \
            a Normal recovery r2 @601s
            61m..74m/60s a start x4 s=t*
            """
        ),
        (
            "a launch failure no stricter than the rules leaves the cause to the rule",
            """
            policy probe
            with launch {"alive_below":0.5,"baseline":0.9,"min_sessions":20,"state":"Caution"}
            0s..59m/60s a start x4 s=s* & a alive x4 s=s* => a Normal initial r1
            60m        a start x200 s=t* & a crash id=c
            61m        => a Caution rule rule=any r2 @3601s
            """
        ),
        (
            "a launch failure stricter than the rules is the cause",
            """
            policy probe
            with launch {"alive_below":0.5,"baseline":0.9,"min_sessions":20,"state":"Throttle"}
            0s..59m/60s a start x4 s=s* & a alive x4 s=s* => a Normal initial r1
            60m        a start x200 s=t* & a crash id=c
            61m        => a Throttle launch_failure rule=- r2 @3601s
            """
        ),
    ]

    @Test("All decide as told", arguments: TimelineDecider.all, stories.indices)
    func all(_ decider: TimelineDecider, _ index: Int) throws {
        try decider.check(Self.stories[index])
    }
}
