"""Everything in a study record beside the protocol: results, annotations, documents, derived terms.

The notation is that of `structure_protocol`.
"""

RESULTS = """\
resultsSection ResultsSection
 participantFlowModule ParticipantFlowModule
  preAssignmentDetails FlowPreAssignmentDetails markup
  recruitmentDetails FlowRecruitmentDetails markup
  typeUnitsAnalyzed FlowTypeUnitsAnalyzed text
  groups[] FlowGroup
   id FlowGroupId text
   title FlowGroupTitle text
   description FlowGroupDescription markup
  periods[] FlowPeriod
   title FlowPeriodTitle text
   milestones[] FlowMilestone
    type FlowMilestoneType text
    comment FlowMilestoneComment markup
    achievements[] FlowAchievement
     groupId FlowAchievementGroupId text
     comment FlowAchievementComment markup
     numSubjects FlowAchievementNumSubjects text
     numUnits FlowAchievementNumUnits text
   dropWithdraws[] FlowDropWithdraw
    type FlowDropWithdrawType text
    comment FlowDropWithdrawComment markup
    reasons[] FlowReason
     groupId FlowReasonGroupId text
     comment FlowReasonComment markup
     numSubjects FlowReasonNumSubjects text
 baselineCharacteristicsModule BaselineCharacteristicsModule
  populationDescription BaselinePopulationDescription markup
  typeUnitsAnalyzed BaselineTypeUnitsAnalyzed text
  groups[] BaselineGroup
   id BaselineGroupId text
   title BaselineGroupTitle text
   description BaselineGroupDescription markup
  denoms[] BaselineDenom
   units BaselineDenomUnits text
   counts[] BaselineDenomCount
    groupId BaselineDenomCountGroupId text
    value BaselineDenomCountValue text
  measures[] BaselineMeasure
   title BaselineMeasureTitle text
   description BaselineMeasureDescription markup
   populationDescription BaselineMeasurePopulationDescription markup
   paramType BaselineMeasureParamType MeasureParam
   dispersionType BaselineMeasureDispersionType MeasureDispersionType
   unitOfMeasure BaselineMeasureUnitOfMeasure text
   calculatePct BaselineMeasureCalculatePct boolean
   denomUnitsSelected BaselineMeasureDenomUnitsSelected text
   denoms[] BaselineMeasureDenom
    units BaselineMeasureDenomUnits text
    counts[] BaselineMeasureDenomCount
     groupId BaselineMeasureDenomCountGroupId text
     value BaselineMeasureDenomCountValue text
   classes[] BaselineClass
    title BaselineClassTitle text
    denoms[] BaselineClassDenom
     units BaselineClassDenomUnits text
     counts[] BaselineClassDenomCount
      groupId BaselineClassDenomCountGroupId text
      value BaselineClassDenomCountValue text
    categories[] BaselineCategory
     title BaselineCategoryTitle text
     measurements[] BaselineMeasurement
      groupId BaselineMeasurementGroupId text
      value BaselineMeasurementValue text
      spread BaselineMeasurementSpread text
      lowerLimit BaselineMeasurementLowerLimit text
      upperLimit BaselineMeasurementUpperLimit text
      comment BaselineMeasurementComment markup
 outcomeMeasuresModule OutcomeMeasuresModule
  outcomeMeasures[] OutcomeMeasure
   type OutcomeMeasureType OutcomeMeasureType
   title OutcomeMeasureTitle text
   description OutcomeMeasureDescription markup
   populationDescription OutcomeMeasurePopulationDescription markup
   reportingStatus OutcomeMeasureReportingStatus ReportingStatus
   anticipatedPostingDate OutcomeMeasureAnticipatedPostingDate date
   paramType OutcomeMeasureParamType MeasureParam
   dispersionType OutcomeMeasureDispersionType text
   unitOfMeasure OutcomeMeasureUnitOfMeasure text
   calculatePct OutcomeMeasureCalculatePct boolean
   timeFrame OutcomeMeasureTimeFrame text
   typeUnitsAnalyzed OutcomeMeasureTypeUnitsAnalyzed text
   denomUnitsSelected OutcomeMeasureDenomUnitsSelected text
   groups[] OutcomeGroup
    id OutcomeGroupId text
    title OutcomeGroupTitle text
    description OutcomeGroupDescription markup
   denoms[] OutcomeDenom
    units OutcomeDenomUnits text
    counts[] OutcomeDenomCount
     groupId OutcomeDenomCountGroupId text
     value OutcomeDenomCountValue text
   classes[] OutcomeClass
    title OutcomeClassTitle text
    denoms[] OutcomeClassDenom
     units OutcomeClassDenomUnits text
     counts[] OutcomeClassDenomCount
      groupId OutcomeClassDenomCountGroupId text
      value OutcomeClassDenomCountValue text
    categories[] OutcomeCategory
     title OutcomeCategoryTitle text
     measurements[] OutcomeMeasurement
      groupId OutcomeMeasurementGroupId text
      value OutcomeMeasurementValue text
      spread OutcomeMeasurementSpread text
      lowerLimit OutcomeMeasurementLowerLimit text
      upperLimit OutcomeMeasurementUpperLimit text
      comment OutcomeMeasurementComment markup
   analyses[] OutcomeAnalysis
    paramType OutcomeAnalysisParamType text
    paramValue OutcomeAnalysisParamValue text
    dispersionType OutcomeAnalysisDispersionType AnalysisDispersionType
    dispersionValue OutcomeAnalysisDispersionValue text
    statisticalMethod OutcomeAnalysisStatisticalMethod text
    statisticalComment OutcomeAnalysisStatisticalComment markup
    pValue OutcomeAnalysisPValue text
    pValueComment OutcomeAnalysisPValueComment markup
    ciNumSides OutcomeAnalysisCINumSides ConfidenceIntervalNumSides
    ciPctValue OutcomeAnalysisCIPctValue text
    ciLowerLimit OutcomeAnalysisCILowerLimit text
    ciUpperLimit OutcomeAnalysisCIUpperLimit text
    ciLowerLimitComment OutcomeAnalysisCILowerLimitComment markup
    ciUpperLimitComment OutcomeAnalysisCIUpperLimitComment markup
    estimateComment OutcomeAnalysisEstimateComment markup
    testedNonInferiority OutcomeAnalysisTestedNonInferiority boolean
    nonInferiorityType OutcomeAnalysisNonInferiorityType NonInferiorityType
    nonInferiorityComment OutcomeAnalysisNonInferiorityComment markup
    otherAnalysisDescription OutcomeAnalysisOtherAnalysisDescription markup
    groupDescription OutcomeAnalysisGroupDescription markup
    groupIds[] OutcomeAnalysisGroupId text
 adverseEventsModule AdverseEventsModule
  frequencyThreshold EventsFrequencyThreshold text
  timeFrame EventsTimeFrame text
  description EventsDescription markup
  allCauseMortalityComment EventsAllCauseMortalityComment markup
  eventGroups[] EventGroup
   id EventGroupId text
   title EventGroupTitle text
   description EventGroupDescription markup
   deathsNumAffected EventGroupDeathsNumAffected integer
   deathsNumAtRisk EventGroupDeathsNumAtRisk integer
   seriousNumAffected EventGroupSeriousNumAffected integer
   seriousNumAtRisk EventGroupSeriousNumAtRisk integer
   otherNumAffected EventGroupOtherNumAffected integer
   otherNumAtRisk EventGroupOtherNumAtRisk integer
  seriousEvents[] SeriousEvent
   term SeriousEventTerm text
   organSystem SeriousEventOrganSystem text
   sourceVocabulary SeriousEventSourceVocabulary text
   assessmentType SeriousEventAssessmentType EventAssessment
   notes SeriousEventNotes markup
   stats[] SeriousEventStats
    groupId SeriousEventStatsGroupId text
    numEvents SeriousEventStatsNumEvents integer
    numAffected SeriousEventStatsNumAffected integer
    numAtRisk SeriousEventStatsNumAtRisk integer
  otherEvents[] OtherEvent
   term OtherEventTerm text
   organSystem OtherEventOrganSystem text
   sourceVocabulary OtherEventSourceVocabulary text
   assessmentType OtherEventAssessmentType EventAssessment
   notes OtherEventNotes markup
   stats[] OtherEventStats
    groupId OtherEventStatsGroupId text
    numEvents OtherEventStatsNumEvents integer
    numAffected OtherEventStatsNumAffected integer
    numAtRisk OtherEventStatsNumAtRisk integer
 moreInfoModule MoreInfoModule
  limitationsAndCaveats LimitationsAndCaveats
   description LimitationsAndCaveatsDescription markup
  certainAgreement CertainAgreement
   piSponsorEmployee AgreementPISponsorEmployee boolean
   restrictionType AgreementRestrictionType AgreementRestrictionType
   restrictiveAgreement AgreementRestrictiveAgreement boolean
   otherDetails AgreementOtherDetails markup
  pointOfContact PointOfContact
   title PointOfContactTitle text
   organization PointOfContactOrganization text
   email PointOfContactEMail text
   phone PointOfContactPhone text
   phoneExt PointOfContactPhoneExt text
annotationSection AnnotationSection
 annotationModule AnnotationModule
  unpostedAnnotation UnpostedAnnotation
   unpostedResponsibleParty UnpostedResponsibleParty text
   unpostedEvents[] UnpostedEvent
    type UnpostedEventType UnpostedEventType
    date UnpostedEventDate date
    dateUnknown UnpostedEventDateUnknown boolean
  violationAnnotation ViolationAnnotation
   violationEvents[] ViolationEvent
    type ViolationEventType ViolationEventType
    description ViolationEventDescription markup
    creationDate ViolationEventCreationDate date
    issuedDate ViolationEventIssuedDate date
    releaseDate ViolationEventReleaseDate date
    postedDate ViolationEventPostedDate date
documentSection DocumentSection
 largeDocumentModule LargeDocumentModule
  noSap LargeDocNoSAP boolean
  largeDocs[] LargeDoc
   typeAbbrev LargeDocTypeAbbrev text
   hasProtocol LargeDocHasProtocol boolean
   hasSap LargeDocHasSAP boolean
   hasIcf LargeDocHasICF boolean
   label LargeDocLabel text
   date LargeDocDate date
   uploadDate LargeDocUploadDate date
   filename LargeDocFilename text
   size LargeDocSize integer
derivedSection DerivedSection
 miscInfoModule MiscInfoModule
  versionHolder VersionHolder date
  removedCountries[] RemovedCountry text
  submissionTracking SubmissionTracking
   estimatedResultsFirstSubmitDate EstimatedResultsFirstSubmitDate date
   firstMcpInfo FirstMCPInfo
    postDateStruct FirstMCPPostDateStruct
     date FirstMCPPostDate date
     type FirstMCPPostDateType DateType
   submissionInfos[] SubmissionInfo
    releaseDate SubmissionReleaseDate date
    unreleaseDate SubmissionUnreleaseDate date
    unreleaseDateUnknown SubmissionUnreleaseDateUnknown boolean
    resetDate SubmissionResetDate date
    mcpReleaseN SubmissionMCPReleaseN integer
 conditionBrowseModule ConditionBrowseModule
  meshes[] ConditionMesh
   id ConditionMeshId text
   term ConditionMeshTerm text
  ancestors[] ConditionAncestor
   id ConditionAncestorId text
   term ConditionAncestorTerm text
  browseLeaves[] ConditionBrowseLeaf
   id ConditionBrowseLeafId text
   name ConditionBrowseLeafName text
   asFound ConditionBrowseLeafAsFound text
   relevance ConditionBrowseLeafRelevance BrowseLeafRelevance
  browseBranches[] ConditionBrowseBranch
   abbrev ConditionBrowseBranchAbbrev text
   name ConditionBrowseBranchName text
 interventionBrowseModule InterventionBrowseModule
  meshes[] InterventionMesh
   id InterventionMeshId text
   term InterventionMeshTerm text
  ancestors[] InterventionAncestor
   id InterventionAncestorId text
   term InterventionAncestorTerm text
  browseLeaves[] InterventionBrowseLeaf
   id InterventionBrowseLeafId text
   name InterventionBrowseLeafName text
   asFound InterventionBrowseLeafAsFound text
   relevance InterventionBrowseLeafRelevance BrowseLeafRelevance
  browseBranches[] InterventionBrowseBranch
   abbrev InterventionBrowseBranchAbbrev text
   name InterventionBrowseBranchName text
hasResults HasResults boolean
"""
