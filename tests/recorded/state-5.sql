BEGIN TRANSACTION;
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, whom TEXT NOT NULL, what TEXT NOT NULL,
    actor TEXT NOT NULL, source TEXT NOT NULL, party TEXT NOT NULL
);
INSERT INTO "events" VALUES(1,1.79539986660806894303e+09,'s0','connected: no differences','','','');
INSERT INTO "events" VALUES(2,1.79539986661464309692e+09,'s1','connected: no differences','','','');
INSERT INTO "events" VALUES(3,1.79539986661473536491e+09,'s2','connected: no differences','','','');
INSERT INTO "events" VALUES(4,1.79539986661480402948e+09,'server','connected: no differences','','','');
INSERT INTO "events" VALUES(5,1.79539986677109146117e+09,'gone','admitted as job 1','','','');
INSERT INTO "events" VALUES(6,1.79539986680241227148e+09,'a','admitted as job 2; s0 is left out: with a quorum the server decides','','','');
INSERT INTO "events" VALUES(7,1.79539986682567453382e+09,'b','admitted as job 3; s1 is left out: no slots are left in its shared pool; s2 is left out: no slots are left in its shared pool; s0 is left out: no slots are left in its shared pool','blue','ipv4:10.0.0.9:4242','blue');
INSERT INTO "events" VALUES(8,1.79539986683964395523e+09,'gone','removed','','','');
INSERT INTO "events" VALUES(9,1.7953998668433279991e+09,'b','ticket of worker 0 taken: process 17 at w1','blue','ipv4:10.0.0.9:4242','blue');
INSERT INTO "events" VALUES(10,1.79539986685520911217e+09,'b','ticket of worker 1 taken: process 18 at w2','','','');
INSERT INTO "events" VALUES(11,1.79539986692392301553e+09,'a','new incarnation: w1 left','','','');
CREATE TABLE incarnations (
    job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    tag INTEGER NOT NULL, epoch INTEGER NOT NULL, seed TEXT NOT NULL, slots INTEGER NOT NULL,
    servers TEXT NOT NULL, looks_up INTEGER NOT NULL
);
INSERT INTO "incarnations" VALUES(2,3575886950,498287665,'18446744073709551615',90,'[["10.19.0.100", 19539]]',1);
INSERT INTO "incarnations" VALUES(3,1370028626,1043288415,'2895167054950079888',10,'[["10.19.0.100", 19539]]',1);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, multicast_group INTEGER NOT NULL,
    admission INTEGER NOT NULL, request TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '',
    limited INTEGER NOT NULL DEFAULT 0, first_event INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "jobs" VALUES(2,'a',2,2,'{"name": "a", "workers": ["w2", "w3", "w4"], "slots": 90, "codec": "thc", "ops": ["ADD32", "EXPAND8", "TABLE8", "ADD8X4", "OR", "MAX", "EXPAND16", "EXPAND8TO16", "EXPAND3TO8", "EXPAND5TO8"], "udp_port": 19540, "seed": 18446744073709551615, "quota": 5, "priority": 2, "quorum": 3, "best_effort": false, "lease_s": 7.5, "worker_token": ""}','',0,6);
INSERT INTO "jobs" VALUES(3,'b',3,3,'{"name": "b", "workers": ["w1", "w2", "w3", "w4"], "slots": 10, "codec": "thc", "ops": ["ADD32", "EXPAND8", "TABLE8", "ADD8X4", "OR", "MAX", "EXPAND16", "EXPAND8TO16", "EXPAND3TO8", "EXPAND5TO8"], "udp_port": 19541, "seed": null, "quota": null, "priority": 0, "quorum": 0, "best_effort": true, "lease_s": 120.0, "worker_token": ""}','blue',1,7);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO "meta" VALUES('next_job',4);
INSERT INTO "meta" VALUES('next_admission',4);
INSERT INTO "meta" VALUES('schema',5);
CREATE TABLE ranges (
    switch TEXT NOT NULL, job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    base INTEGER NOT NULL, slots INTEGER NOT NULL, shared INTEGER NOT NULL,
    PRIMARY KEY (switch, job)
);
INSERT INTO "ranges" VALUES('s0',2,0,90,0);
INSERT INTO "ranges" VALUES('s0',3,90,10,1);
INSERT INTO "ranges" VALUES('s1',2,0,90,0);
INSERT INTO "ranges" VALUES('s1',3,90,10,1);
INSERT INTO "ranges" VALUES('s2',2,0,90,0);
INSERT INTO "ranges" VALUES('s2',3,90,10,1);
CREATE TABLE tickets (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE, worker INTEGER NOT NULL,
    claimant TEXT NOT NULL, origin TEXT NOT NULL, description TEXT,
    PRIMARY KEY (job, worker)
);
INSERT INTO "tickets" VALUES(3,0,'p0','process 17 at w1','thc');
INSERT INTO "tickets" VALUES(3,1,'p1','process 18 at w2',NULL);
CREATE INDEX events_by_party ON events (party, number);
CREATE INDEX events_by_subject ON events (whom, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',11);
COMMIT;
