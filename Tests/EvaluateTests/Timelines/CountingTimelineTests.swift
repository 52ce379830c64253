// What is counted, told as timelines: records that lie, repeat themselves, or come late.
import Testing

@Suite("Counting, as timelines")
struct CountingTimelineTests {
    static let stories: [(String, String)] = [
        (
            "more crashes than sessions clamp the rate at 0",
            """
            policy default
            0s  a start x10 s=s*
            0s  a crash x12 id=c* d=d*
            1s  => a Caution initial r1 @1s 600.sessions=10 600.crashes=12 \
            600.crashed_sessions=12 600.crashing_sessions=12 600.rate=0.0000 600.low=0.0000
            """
        ),
        (
            "five crashes of one session are one crashed session",
            """
            policy probe
            0s  a start s=s
            0s  a crash x5 s=s id=c* d=d
            1s  => a Caution rule rule=any r1 60.sessions=1 60.crashes=5 60.crashed_sessions=1 \
            60.crashing_sessions=1 60.crashed_devices=1 60.rate=0.0000
            """
        ),
        (
            "one death reported by two detectors is one crashed session",
            """
            policy probe
            0s  a start x4 s=s*
            0s  a crash s=s1 id=w kind=watchdog
            0s  a crash s=s1 id=x kind=exception
            1s  => a Caution rule 60.crashed_sessions=1 60.crashes=2 60.rate=0.7500
            """
        ),
        (
            "a crash sent again within 24 h is counted once, later it is new",
            """
            policy probe
            0s         a crash id=c s=s
            61s        => a Caution rule r1 @1s; a Normal recovery r2 @61s
            3h         a crash id=c s=s
            24h        a crash id=c s=s
            24h2s
            24h2s      a crash id=d s=s
            24h3s      => a Caution rule r3 60.crashes=1 60.sessions=1 60.crashed_sessions=1
            25h        => a Normal recovery r4
            25h        a crash id=c s=s
            26h        => a Caution rule r5 60.crashes=1; a Normal recovery r6
            """
        ),
        (
            "the horizon is inclusive and a repeat does not move it",
            """
            policy probe
            0s         a crash id=c
            61s        => a Caution rule r1; a Normal recovery r2
            24h        a crash id=c
            24h1m
            24h1m      raw {"type":"session","app":"b","session":"s"}
            24h1m1ms   a crash id=c
            24h2m      => a Caution rule r3 @86461s; b Normal initial r1
            """
        ),
        (
            "a device time ahead of its own send time is the receive time",
            """
            policy probe
            0s         a crash id=c at=+14d sent=0s
            60s        => a Caution rule @1s 60.crashes=1
            61s        => a Normal recovery @61s
            """
        ),
        (
            "a record from the future harms no other",
            """
            policy probe
            0s         a start s=f at=+1d
            0s         a start x99 s=s* at=-10s
            0s         a crash id=c s=s2
            1s         => a Caution rule 60.sessions=100 60.crashed_sessions=1 60.rate=0.9900
            """
        ),
        (
            "a crash of a session that began in 1970 counts at its own time",
            """
            policy probe
            0s         raw {"type":"crash","app":"a","session":"s","session_at":5}
            1s         => a Caution rule 60.crashes=1 3600.sessions=0 3600.crashed_sessions=0 \
            3600.crashing_sessions=1 3600.rate=-
            """
        ),
        (
            "a device 90 s ahead is taken back, not rejected",
            """
            policy probe
            0s         a crash at=+90s
            1s         => a Caution rule 60.crashes=1
            """
        ),
        (
            "an old crash goes where it belongs, one of yesterday nowhere",
            """
            policy probe
            with rules [{"name":"hour","state":"Halt","window_s":3600,"crashes_at_least":1}]
            0s         a crash at=-26h id=a
            1m         => a Normal initial r1 @1s
            1m         a crash at=-25m id=b
            2m         => a Halt rule rule=hour @61s 600.crashes=0 3600.crashes=1
            """
        ),
        (
            "a crash counts against the sessions it belongs to",
            """
            policy probe
            30s        a start x100 s=s*
            95s        => a Normal initial
            95s        a crash x10 s=s* session_at=-65s
            96s        => a Caution rule 60.sessions=0 60.crashed_sessions=0 \
            60.crashing_sessions=10 60.rate=- 600.sessions=100 600.crashed_sessions=10 \
            600.rate=0.9000
            """
        ),
        (
            "background starts are no sessions",
            """
            policy probe
            0s         a background x900 s=b*
            0s         a start x100 s=s*
            0s         a crash x5 s=s*
            0s         a nonfatal x50 s=s*
            1s         => a Caution rule 60.sessions=100 60.crashes=5 60.rate=0.9500
            """
        ),
        (
            "soft errors are no crashes",
            """
            policy probe
            0s         a start x1000 s=s*
            0s         a soft x50 s=s*
            0s         a crash s=s1
            1s         => a Caution rule 60.sessions=1000 60.rate=0.9990
            """
        ),
        (
            "a crash before its start brings the session, the start is then a repeat",
            """
            policy probe
            0s         a crash s=s session_at=-2m
            1s         => a Caution rule 60.sessions=0 600.sessions=1 600.crashed_sessions=1
            61s        => a Normal recovery
            61s        a start s=s
            61s        a start s=t
            61s        a crash s=t id=x
            62s        => a Caution rule 60.sessions=1 600.sessions=2 600.crashed_sessions=2
            """
        ),
        (
            "an event leaves a window with its pane, to the millisecond",
            """
            policy probe
            with tick_ms 250
            999ms      a crash id=a
            1s         => a Caution rule @1s
            60s        
            60s250ms   => a Normal recovery @60250ms
            61s        a crash id=b at=-1ms
            61s        a crash id=c
            61s1ms     
            121s1ms    => a Caution rule 60.crashes=2 @61250ms
            121s250ms  => a Normal recovery @121250ms
            """
        ),
        (
            "the units of device time are told by size",
            """
            policy probe
            0s         raw {"type":"crash","app":"a","id":"1","at":1700007119}
            0s         raw {"type":"crash","app":"a","id":"2","at":1700007119.5}
            0s         raw {"type":"crash","app":"a","id":"3","at":1700007119999}
            0s         raw {"type":"crash","app":"a","id":"4","at":1700007119999499}
            0s         raw {"type":"crash","app":"a","id":"5","at":1700007119000000001}
            0s         raw {"type":"crash","app":"a","id":"6","at":17000071190000000001}
            0s         raw {"type":"crash","app":"a","id":"7","at":-1}
            1s         => a Caution rule 60.crashes=6
            60s
            61s        => a Normal recovery 60.crashes=0 @61s
            """
        ),
        (
            "a rejected event leaves no trace, and an array loses only the bad one",
            """
            policy probe
            0s         raw {"type":"crash","app":"ghost","at":0}
            0s         raw {"type":"crash","app":"a","id":"c","at":"x"}
            0s         raw [{"type":"crash","app":"a","id":"c"},{"type":"crash","at":1},7]
            1s         => a Caution rule 60.crashes=1
            """
        ),
        (
            "crashing devices are counted up to 4096",
            """
            policy probe
            with rules [{"name":"many","state":"Halt","window_s":60,"crashes_at_least":4500}]
            0s         a start
            1s..5s/1s  a crash x900 d=d*  => a Normal initial
            6s         => a Halt rule 60.crashes=4500 60.crashed_devices=4096
            """
        ),
    ]

    @Test("All count as told", arguments: TimelineDecider.all, stories.indices)
    func all(_ decider: TimelineDecider, _ index: Int) throws {
        try decider.check(Self.stories[index])
    }
}
